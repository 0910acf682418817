-- How many tasks of a suite does the Coder solve with k tries, and how many faster than p times eager, from the samples themselves?
-- Unbiased: 1 - C(n-c, k) / C(n, k) a task, averaged over tasks. Columns: round, suite, backend, policy, timer (a speedup counts only
-- within one timer), tasks, samples, pass_at_k, fast_p_at_k (c = correct and speedup > p). Tasks with fewer than k judged samples
-- are left out.
-- :run_id latest
-- :suite mini
-- :k 1
-- :p 1.0
WITH judged AS (
    SELECT o.*, max(o.backend) OVER w AS ran_backend, max(o.policy) OVER w AS ran_policy  -- of the answers that could not be extracted
    FROM outcomes o WHERE run_id = $run_id AND role = 'evaluate' AND suite = $suite
    WINDOW w AS (PARTITION BY o.round, o.suite)
), counts AS (
    SELECT round, suite, coalesce(backend, ran_backend) AS backend, coalesce(policy, ran_policy) AS policy, task, module_id,
           count(*) AS n, count(*) FILTER (correct) AS c, count(*) FILTER (correct AND speedup > $p) AS fast,
           max(timer) FILTER (correct) AS timer
    FROM judged GROUP BY ALL
), estimates AS (
    SELECT *, CASE WHEN n - c < $k THEN 1.0 ELSE 1 - coalesce(list_product(list_transform(range(n - c + 1, n + 1), lambda i: 1 - $k / i)), 1) END AS solved,
           CASE WHEN n - fast < $k THEN 1.0 ELSE 1 - coalesce(list_product(list_transform(range(n - fast + 1, n + 1), lambda i: 1 - $k / i)), 1) END AS faster
    FROM counts WHERE n >= $k
)
SELECT round, suite, backend, policy, coalesce(max(timer), '') AS timer, count(*) AS tasks, sum(n) AS samples,
       avg(solved) AS pass_at_k, avg(faster) AS fast_p_at_k
FROM estimates GROUP BY round, suite, backend, policy
ORDER BY round, backend, policy;
