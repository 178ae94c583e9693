//go:build !linux

package rpcsuite

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

var errLinux = errors.New("the suite rpc asks Linux for the processor time of servers")

const supported = false

func allowedCores() []int { return nil }

func startOn(cmd *exec.Cmd, _ []int) error { return cmd.Start() }

func processorTime(int) (time.Duration, error) { return 0, errLinux }

func residentBytes(int) (int64, error) { return 0, errLinux }

func ownTimes() (user, system time.Duration) { return 0, 0 }

func realTime() bool { return false }

func answers() (*os.File, error) { return os.Stdout, nil }
