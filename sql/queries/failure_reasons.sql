-- Why do kernels fail, and how far do they come? Columns: round, role, reached (the last stage of verification that was reached),
-- reason, samples, share (of all judged samples of that round and role), example (a kernel_id to show). Correct ones are left out, their
-- share is what is missing to 1.
-- :run_id latest
-- :role %
WITH judged AS (
    SELECT *, count(*) OVER (PARTITION BY round, role) AS total FROM outcomes WHERE run_id = $run_id AND role LIKE $role
)
SELECT round, role, reached, reason, count(*) AS samples, count(*) / any_value(total) AS share, max(kernel_id) AS example
FROM judged WHERE NOT correct
GROUP BY round, role, reached, reason
ORDER BY round, role, samples DESC, reached, reason;
