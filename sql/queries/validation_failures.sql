-- At which of the three steps, and why, are proposed modules rejected? Columns: round, stage, failed_step ('' is accepted), reason,
-- modules, share (of all completions of that round and stage), example (a module_id; '' when no module could be extracted).
-- :run_id latest
WITH checked AS (
    SELECT *, count(*) OVER (PARTITION BY round, stage) AS total FROM validations WHERE run_id = $run_id
)
SELECT round, stage, failed_step, reason, count(*) AS modules, count(*) / any_value(total) AS share, max(module_id) AS example
FROM checked
GROUP BY round, stage, failed_step, reason
ORDER BY round, stage_order(stage), modules DESC, failed_step, reason;
