-- Which runs does this database hold, newest first? Columns: run_id, profile, seed, status, rounds (last round begun), started_at
-- (UTC), minutes (of its stages), modules (distinct, proposed), kernels (distinct, sampled), pass_at_1_first and pass_at_1_last
-- (suite mini), origin_run_id (of a rerun), error.
SELECT r.run_id, r.profile, r.seed, r.status,
       (SELECT max(round) FROM stage_runs s WHERE s.run_id = r.run_id) AS rounds,
       r.started_at,
       round((SELECT sum(seconds) FROM stage_runs s WHERE s.run_id = r.run_id) / 60, 2) AS minutes,
       (SELECT count(DISTINCT module_id) FROM proposals p WHERE p.run_id = r.run_id AND module_id <> '') AS modules,
       (SELECT count(DISTINCT kernel_id) FROM samples s WHERE s.run_id = r.run_id AND kernel_id <> '') AS kernels,
       (SELECT arg_min(value, round) FROM evaluations e WHERE e.run_id = r.run_id AND suite = 'mini' AND metric = 'pass@1') AS pass_at_1_first,
       (SELECT arg_max(value, round) FROM evaluations e WHERE e.run_id = r.run_id AND suite = 'mini' AND metric = 'pass@1') AS pass_at_1_last,
       r.origin_run_id, r.error
FROM runs r
ORDER BY r.started_at DESC, r.run_id DESC;
