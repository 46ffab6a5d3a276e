package disk

import (
	"math"

	"golang.org/x/sys/windows"
)

var full = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}

func free(path string) (int64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var bytes uint64
	err = windows.GetDiskFreeSpaceEx(name, &bytes, nil, nil)
	return int64(min(bytes, math.MaxInt64)), err
}
