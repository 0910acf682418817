"""The stages of a round as functions of a spec: warm start, Proposer GRPO, generation, Coder CA-GRPO, evaluation.

Each runs in a process of its own (`process.run_stage`), spec and result as files, rows straight to the store. It knows nothing
of Prefect. Imported by `tasks`.
"""
