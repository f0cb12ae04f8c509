-- read_user_name: what to call a user
-- params: user_id uuid
-- returns: one row (name), or none when there is no such user
-- locks: none
SELECT name FROM public.users WHERE id = $1
