-- How often was a module solved, try by try? Columns: module_id, run_id, round, stage, role, k (correct), n (judged), kernels (distinct),
-- best_speedup (of correct kernels), timer. module_id takes the beginning of an id.
-- :module_id ''
SELECT module_id, run_id, round, stage, role, count(*) FILTER (correct) AS k, count(*) AS n, count(DISTINCT nullif(kernel_id, '')) AS kernels,
       max(speedup) FILTER (correct) AS best_speedup, coalesce(max(timer) FILTER (correct), '') AS timer
FROM outcomes WHERE module_id <> '' AND starts_with(module_id, $module_id)
GROUP BY module_id, run_id, round, stage, role
ORDER BY module_id, run_id, round, stage_order(stage), role;
