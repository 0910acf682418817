"""One verifier for many processes: the server on a Unix socket and its client, with the methods of `Verifier`.
Imports `verifier` and what stands below it; nothing in Keck imports it but the package's face.
"""
