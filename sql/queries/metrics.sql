-- What did the trainers log, step by step? Columns: round, stage, step, name, value. stage and name are patterns of LIKE (% is
-- anything).
-- :run_id latest
-- :stage %
-- :name %
SELECT round, stage, step, name, value FROM metrics
WHERE run_id = $run_id AND stage LIKE $stage AND name LIKE $name
ORDER BY round, stage_order(stage), name, step;
