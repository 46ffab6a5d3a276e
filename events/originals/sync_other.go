//go:build !linux

package originals

import "errors"

const canSyncAll = false

func syncAll(string) error { return errors.ErrUnsupported }
