package codec

import (
	"reflect"

	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// PlanText returns the program that codec makes of t for a job, for tests that
// cannot be in this package because what they compare with imports it.
func PlanText(job plan.Job, t reflect.Type) (string, error) {
	layout, binding, err := layoutOf(t)
	if err != nil {
		return "", err
	}
	p, err := lower.Struct(job, layout, len(binding.Slots))
	if err != nil {
		return "", err
	}
	return plan.Format(p), nil
}
