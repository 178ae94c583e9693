package frugal

// Option is accepted by Pretouch and has no effect.
type Option func(*options)

type options struct{}

func ignored(*options) {}

// WithMaxInlineDepth has no effect.
func WithMaxInlineDepth(depth int) Option { return ignored }

// WithMaxInlineILSize has no effect.
func WithMaxInlineILSize(size int) Option { return ignored }

// WithMaxPretouchDepth has no effect: Pretouch always compiles all that a type
// reaches.
func WithMaxPretouchDepth(depth int) Option { return ignored }

// NoJIT has no effect.
func NoJIT(v bool) {}

// SetMaxInlineDepth has no effect and returns depth.
func SetMaxInlineDepth(depth int) int { return depth }

// SetMaxInlineILSize has no effect and returns size.
func SetMaxInlineILSize(size int) int { return size }
