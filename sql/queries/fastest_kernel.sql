-- Which verified kernel is the fastest for a module? Columns: module_id, name, apis, kernel_id, speedup, kernel_s, reference_s, timer
-- (roofline is an estimate, cuda a measurement; one row for each, never compared), device, backend, policy, correct_kernels (of the
-- module), source. module_id takes the beginning of an id; '' lists every module that has a correct, timed kernel.
-- :module_id ''
SELECT j.module_id, m.name, m.apis, j.kernel_id, j.speedup, j.kernel_s, j.reference_s, j.timer, j.device, j.backend, j.policy,
       count(*) OVER (PARTITION BY j.module_id, j.timer, j.device, j.backend, j.policy) AS correct_kernels, k.source
FROM judgements j JOIN modules m USING (module_id) JOIN kernels k ON k.kernel_id = j.kernel_id
WHERE j.correct AND NOT j.flaky AND j.timer <> '' AND starts_with(j.module_id, $module_id)
QUALIFY row_number() OVER (PARTITION BY j.module_id, j.timer, j.device, j.backend, j.policy ORDER BY j.speedup DESC, j.kernel_id) = 1
ORDER BY j.speedup DESC, j.module_id;
