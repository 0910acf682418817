"""The database in SQL: `schema/` holds the numbered migrations, `queries/` the analysis queries by name.

Read by `kernelzero.store` alone. Installed as `kernelzero_sql`.
"""
