"""The profiles: one TOML file each, which sets what differs from the defaults of `kernelzero.config`."""
