package fence

import "testing"

func TestInvariant1(t *testing.T) {}

func TestInvariant20Holds(t *testing.T) {}
