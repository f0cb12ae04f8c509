"""How near the planner of the mesh comes to the best schedule there is."""
