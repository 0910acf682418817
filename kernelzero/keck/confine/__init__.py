"""What holds a process: sandbox (namespaces, filter, limits) and the frames by which it talks (wire).
Values and system calls; knows nothing of candidates. Imports nothing of Keck: the ground floor.
"""
