-- Which checkpoints did a run leave, and did their weights change? Columns: round, role (base, proposer, coder), digest, changed (against
-- the round before of that role, or the base), model_version (MLflow), path.
-- :run_id latest
WITH mine AS (
    SELECT * FROM checkpoints WHERE run_id = $run_id
), base AS (
    SELECT any_value(digest) AS base_digest FROM mine WHERE role = 'base'
)
SELECT round, role, digest, digest <> coalesce(lag(digest) OVER (PARTITION BY role ORDER BY round), CASE WHEN role <> 'base' THEN base_digest END) AS changed,
       model_version, path
FROM mine CROSS JOIN base
ORDER BY round, role;
