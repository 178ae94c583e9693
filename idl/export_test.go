package idl

import "time"

// Poll is one look of Watch.
func Poll(s *Source) error {
	_, err := s.poll(time.Now(), false)
	return err
}
