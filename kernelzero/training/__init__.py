"""GRPO, thin over TRL: one function that trains either role, and what makes it resumable and repeatable.

The rewards are functions that the stages pass in; groups, gates and rows of the database are theirs. Imports torch and TRL.
"""
