-- redeem_link_code: the account belongs to the user who made the code; the code is used up
-- params: code_hash bytea, discord_id text, discord_name text
-- returns: the user's id, or null when there is no such code
-- locks: the code, then all links for writers; two that concern the same account follow each other
SELECT shoal.redeem_discord_code($1, $2, $3)
