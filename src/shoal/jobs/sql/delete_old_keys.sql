-- delete_old_keys: delete a batch of the idempotency keys that are older than a day
-- params: none
-- returns: how many
-- locks: the keys; passes over those that are held
SELECT shoal.delete_old_keys()
