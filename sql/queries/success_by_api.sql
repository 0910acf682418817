-- With which APIs does the Coder succeed, and with which not? Columns: api, modules (that use it), samples (judged), success_rate,
-- first_round_rate and last_round_rate (of the first and last round in which the API was tried), worst API first. Of modules that
-- were proposed or trained on; role evaluate counts a suite's tasks instead.
-- :run_id latest
-- :role train
-- :min_samples 1
WITH tried AS (
    SELECT unnest(m.apis) AS api, o.module_id, o.round, o.correct
    FROM outcomes o JOIN modules m USING (module_id)
    WHERE o.run_id = $run_id AND (o.role = $role OR $role = 'all')
), by_round AS (
    SELECT api, round, avg(correct::INT) AS rate FROM tried GROUP BY api, round
), ends AS (
    SELECT api, arg_min(rate, round) AS first_round_rate, arg_max(rate, round) AS last_round_rate FROM by_round GROUP BY api
)
SELECT api, count(DISTINCT module_id) AS modules, count(*) AS samples, avg(correct::INT) AS success_rate,
       any_value(first_round_rate) AS first_round_rate, any_value(last_round_rate) AS last_round_rate
FROM tried JOIN ends USING (api)
GROUP BY api HAVING count(*) >= $min_samples
ORDER BY success_rate, samples DESC, api;
