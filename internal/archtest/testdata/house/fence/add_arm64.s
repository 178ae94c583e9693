// assembly may stand here
