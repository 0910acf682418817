-- Which samples could not be judged, through no fault of theirs? They count in no rate and earn no reward. Columns: round, stage, role,
-- why, samples, share (of all samples of that round, stage and role).
-- :run_id latest
WITH marked AS (
    SELECT *, count(*) OVER (PARTITION BY round, stage, role) AS total FROM samples WHERE run_id = $run_id
)
SELECT round, stage, role, not_judged AS why, count(*) AS samples, count(*) / any_value(total) AS share
FROM marked WHERE not_judged <> ''
GROUP BY round, stage, role, not_judged
ORDER BY round, stage_order(stage), samples DESC, why;
