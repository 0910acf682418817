"""What happens, in which order: one Prefect flow a file, short enough to read as the DAG it is.

Imports `tasks` and, for values, `kernelzero`; nothing imports it but the front door, which loads a flow by name.
Installed as `kernelzero_flows`, since `flows` is a name that many Prefect projects use for their own folder.
"""
