-- What share of the modules stands at the frontier, where the Coder solves some kernels and not all? Columns: round, measured_in
-- (proposer: k of n kernels of the frozen Coder; coder: the groups of the Coder's own training), modules, occupied (low <= p <= high),
-- occupancy (their share), never (p = 0), always (p = 1), mean_p.
-- :run_id latest
-- :low 0.2
-- :high 0.8
WITH rates AS (
    SELECT round, 'proposer' AS measured_in, module_id, sum(k) / sum(n) AS p FROM proposals
    WHERE run_id = $run_id AND module_id <> '' AND n > 0 GROUP BY round, module_id
    UNION ALL
    SELECT round, 'coder', module_id, sum(rho * size) / sum(size) FROM groups
    WHERE run_id = $run_id AND size > 0 GROUP BY round, module_id
)
SELECT round, measured_in, count(*) AS modules, count(*) FILTER (p BETWEEN $low AND $high) AS occupied,
       avg((p BETWEEN $low AND $high)::INT) AS occupancy, count(*) FILTER (p = 0) AS never, count(*) FILTER (p = 1) AS always, avg(p) AS mean_p
FROM rates GROUP BY round, measured_in
ORDER BY round, measured_in DESC;
