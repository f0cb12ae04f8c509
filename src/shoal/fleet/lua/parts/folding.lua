-- folding: the reducer's state, changed by one accepted result. Sums are compensated (Kahan), so that a million
--   parts lose no more digits than ten. src/shoal/fleet/rules.py does the same steps.
local function number_of(text)
  local number = tonumber(text)
  if not number or number ~= number or number == math.huge or number == -math.huge then
    return nil
  end
  return number
end

local function moments_of(plan)
  if not plan.count then
    local stored = redis.call('HMGET', plan.key, 'count', 'mean', 'mean_lost', 'm2', 'm2_lost', 'least', 'most')
    plan.count = tonumber(stored[1] or 0)
    plan.mean, plan.mean_lost = tonumber(stored[2] or 0), tonumber(stored[3] or 0)
    plan.m2, plan.m2_lost = tonumber(stored[4] or 0), tonumber(stored[5] or 0)
    plan.least, plan.most = tonumber(stored[6] or math.huge), tonumber(stored[7] or -math.huge)
  end
  return plan
end

local function add_exactly(plan, sum, lost, term)
  local corrected = term - plan[lost]
  local total = plan[sum] + corrected
  set_plan(plan, lost, (total - plan[sum]) - corrected)
  set_plan(plan, sum, total)
end

local function fold_moments(plan, count, mean, m2, least, most)
  moments_of(plan)
  local before = plan.count
  local after = before + count
  local apart = (mean - plan.mean) + plan.mean_lost
  add_exactly(plan, 'm2', 'm2_lost', m2 + apart * apart * (before / after) * count)
  add_exactly(plan, 'mean', 'mean_lost', apart * (count / after))
  set_plan(plan, 'count', after)
  set_plan(plan, 'least', math.min(plan.least, least))
  set_plan(plan, 'most', math.max(plan.most, most))
end
