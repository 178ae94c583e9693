// no C here
