-- Do two runs agree, row by row, in the rounds that both have? Columns: round, stage, what (prompts, modules, kernels, judgements,
-- checkpoints, evaluations), rows (places where either has something), equal, different, only_here, only_there, first_difference (its
-- place). A rerun on the same machine with the same seed has nothing but equal rows. other_run_id `previous` is the run that run_id
-- started from, or else the one before it.
-- :run_id latest
-- :other_run_id previous
WITH shared AS (
    SELECT round FROM (SELECT DISTINCT run_id, round FROM stage_runs WHERE run_id IN ($run_id, $other_run_id)) GROUP BY round HAVING count(*) = 2
), facts AS (
    SELECT run_id, round, stage, 'prompts' AS what, format('prompt {:06d}', prompt_index) AS place, array_to_string(apis, ', ') AS fact FROM api_sets
    UNION ALL SELECT run_id, round, stage, 'modules', format('step {:03d} row {:05d}', step, row), module_id FROM proposals
    UNION ALL SELECT run_id, round, stage, 'kernels', format('{} {} step {:03d} row {:05d}', role, suite, step, row), kernel_id FROM samples
    UNION ALL SELECT run_id, round, stage, 'judgements', format('{} {} step {:03d} row {:05d}', role, suite, step, row), concat_ws(' ', judgement_id, not_judged) FROM samples
    UNION ALL SELECT run_id, round, role, 'checkpoints', role, digest FROM checkpoints
    UNION ALL SELECT run_id, round, 'evaluate', 'evaluations', concat_ws(' ', suite, backend, policy, metric, timer), value::VARCHAR FROM evaluations
), here AS (
    SELECT * FROM facts JOIN shared USING (round) WHERE run_id = $run_id
), there AS (
    SELECT * FROM facts JOIN shared USING (round) WHERE run_id = $other_run_id
), compared AS (
    SELECT round, stage, what, place, here.fact AS a, there.fact AS b
    FROM here FULL JOIN there USING (round, stage, what, place)
)
SELECT round, stage, what, count(*) AS rows, count(*) FILTER (a = b) AS equal, count(*) FILTER (a <> b) AS different,
       count(*) FILTER (b IS NULL) AS only_here, count(*) FILTER (a IS NULL) AS only_there,
       coalesce(min(place) FILTER (a IS DISTINCT FROM b), '') AS first_difference
FROM compared
GROUP BY round, stage, what
ORDER BY round, coalesce(stage_order(stage), 9), stage, what;
