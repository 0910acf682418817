"""The candidate's side: the confined job that calls ModelNew on fake tensors (job) and writes the launch tape (tape),
under a Triton driver of ours (driver) and a CUDA device that is not there (fake_cuda). What leaves is data, and is not
trusted. Imports `confine.wire`, `judge.reasons`, `language`, and the reference job's one-line errors.
"""
