// no assembly here
