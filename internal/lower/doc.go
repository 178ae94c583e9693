// Package lower turns a struct's schema and the layout of its Go type into
// plan programs, one for each job, in named passes:
//
//   - procedures: a procedure for each struct, and one for each element, key
//     and entry of a container, shared where they are the same
//   - fold (size jobs): ops whose size is known become a constant of their procedure
//   - order (decode jobs): fields by the order in which writers send them
//
// It knows neither reflect nor engines: codec describes the Go type by a [Layout].
package lower
