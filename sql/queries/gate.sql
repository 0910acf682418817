-- How often is the gate open, and how many groups teach anything? Columns: round, stage, step, groups, open_share (coder: rho >= tau;
-- empty for the proposer, which has no gate), nonzero_share (groups with an advantage that is not 0), mean_rho, tau. A stage whose
-- nonzero_share stays under 0.2 learns next to nothing.
-- :run_id latest
WITH prompts AS (
    SELECT round, stage, step, prompt_index, bool_or(abs(advantage) > 1e-9) AS nonzero FROM proposals
    WHERE run_id = $run_id AND stage = 'proposer' GROUP BY ALL
)
SELECT round, stage, step, count(*) AS groups, avg(gate_open::INT) AS open_share, avg(nonzero::INT) AS nonzero_share, avg(rho) AS mean_rho, max(tau) AS tau
FROM groups WHERE run_id = $run_id GROUP BY round, stage, step
UNION ALL
SELECT round, stage, step, count(*), NULL, avg(coalesce(nonzero, false)::INT), NULL, NULL
FROM prompts GROUP BY round, stage, step
ORDER BY round, stage DESC, step;
