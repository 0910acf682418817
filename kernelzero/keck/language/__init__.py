"""What a tape may say: which torch operators are allowed (operators), which Python is Triton's language (kernels).
Recording and replay both hold a program to it. Imports nothing of Keck.
"""
