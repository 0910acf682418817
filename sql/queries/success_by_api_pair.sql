-- Which pairs of APIs are hard together? Columns: api_a, api_b, modules (that use both), samples (judged), success_rate, apart
-- (product of the two APIs' own success rates: what the pair would reach if the two were independent), worst pair first.
-- :run_id latest
-- :role train
-- :min_samples 1
WITH tried AS (
    SELECT o.module_id, list_sort(list_distinct(m.apis)) AS apis, o.correct
    FROM outcomes o JOIN modules m USING (module_id)
    WHERE o.run_id = $run_id AND (o.role = $role OR $role = 'all')
), single AS (
    SELECT api, avg(correct::INT) AS rate FROM (SELECT unnest(apis) AS api, correct FROM tried) GROUP BY api
), left_side AS (
    SELECT module_id, apis, correct, unnest(apis) AS api_a FROM tried
), pairs AS (
    SELECT module_id, correct, api_a, unnest(list_filter(apis, lambda api: api > api_a)) AS api_b FROM left_side
)
SELECT api_a, api_b, count(DISTINCT module_id) AS modules, count(*) AS samples, avg(correct::INT) AS success_rate,
       any_value(a.rate) * any_value(b.rate) AS apart
FROM pairs JOIN single a ON a.api = api_a JOIN single b ON b.api = api_b
GROUP BY api_a, api_b HAVING count(*) >= $min_samples
ORDER BY success_rate, samples DESC, api_a, api_b;
