-- Do the models still write different things? Columns: round, stage, role (propose, or the role of the Coder's samples), step,
-- completions, sources (distinct), source_share (distinct of those with a source), api_sets (distinct sets of the modules concerned),
-- kernels_a_module (distinct kernels for each module; empty for proposals).
-- :run_id latest
SELECT p.round, p.stage, 'propose' AS role, p.step, count(*) AS completions, count(DISTINCT m.module_id) AS sources,
       count(DISTINCT m.module_id) / nullif(count(m.module_id), 0) AS source_share, count(DISTINCT m.apis) AS api_sets,
       NULL::DOUBLE AS kernels_a_module
FROM proposals p LEFT JOIN modules m USING (module_id)
WHERE p.run_id = $run_id GROUP BY p.round, p.stage, p.step
UNION ALL
SELECT s.round, s.stage, s.role, s.step, count(*), count(DISTINCT nullif(s.kernel_id, '')),
       count(DISTINCT nullif(s.kernel_id, '')) / nullif(count(nullif(s.kernel_id, '')), 0), count(DISTINCT m.apis),
       count(DISTINCT CASE WHEN s.kernel_id <> '' THEN (s.module_id, s.kernel_id) END) / nullif(count(DISTINCT s.module_id), 0)
FROM samples s LEFT JOIN modules m USING (module_id)
WHERE s.run_id = $run_id GROUP BY s.round, s.stage, s.role, s.step
ORDER BY round, stage, role, step;
