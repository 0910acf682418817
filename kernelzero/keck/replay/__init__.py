"""Our side: the confined job that runs a tape on fresh inputs (job) by Triton's interpreter (interpret, libdevice), with
every address checked and every byte counted (memory). The candidate's host code is never here. Imports
`confine.wire`, `judge.reasons` and `language`.
"""
