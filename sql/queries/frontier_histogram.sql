-- How are the proposed modules spread over success rates of the frozen Coder? Columns: round, bin (lower edge of k/n in steps of
-- 1/bins; 1 itself lies in the last), modules.
-- :run_id latest
-- :bins 10
WITH rates AS (
    SELECT round, module_id, sum(k) / sum(n) AS p FROM proposals
    WHERE run_id = $run_id AND module_id <> '' AND n > 0 GROUP BY round, module_id
)
SELECT round, least(floor(p * $bins + 1e-9), $bins - 1) / $bins AS bin, count(*) AS modules
FROM rates GROUP BY ALL
ORDER BY round, bin;
