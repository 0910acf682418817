-- Which API sets belong to modules that the Coder fails now? A module is failed when, in the newest round and stage that tried it, the
-- share of correct kernels among the judged ones is below failed_below. Tasks of the evaluation suites never count, only what was
-- proposed or trained on. A rerun of round r also sees the rounds below r of the run it started from. Columns: module_id, apis, round
-- and stage (of that newest try), k (correct), n (judged), in a fixed order.
-- :run_id latest
-- :before_round 1000000
-- :failed_below 0.01
WITH tries AS (
    SELECT o.module_id, o.round, o.stage, count(*) FILTER (o.correct) AS k, count(*) AS n
    FROM outcomes o JOIN lineage($run_id, $before_round) l ON l.run_id = o.run_id AND o.round < l.before_round
    WHERE o.module_id <> '' AND (o.role IN ('reward', 'train') OR o.suite = '')
    GROUP BY o.module_id, o.round, o.stage
), newest AS (
    SELECT * FROM tries QUALIFY row_number() OVER (PARTITION BY module_id ORDER BY round DESC, stage_order(stage) DESC) = 1
)
SELECT module_id, m.apis, round, stage, k, n
FROM newest JOIN modules m USING (module_id)
WHERE k < n * $failed_below AND len(m.apis) > 0
ORDER BY round DESC, module_id;
