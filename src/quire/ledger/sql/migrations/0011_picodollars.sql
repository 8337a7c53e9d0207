-- Money becomes exact: whole picodollars, what a token costs, in place of micro-dollars rounded up for every call.

UPDATE requests SET reserve = reserve * 1000000 WHERE reserve <> 0;
UPDATE attempts SET reserved = reserved * 1000000, cost = cost * 1000000 WHERE reserved <> 0 OR cost <> 0;
UPDATE tallies SET delta = delta * 1000000 WHERE what IN ('cost', 'presumed');
