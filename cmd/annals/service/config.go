package service

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/usage"
	"annals/commands/importer/extract"
	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/http/signin"
	"annals/projections/searchindex"
	"annals/queries/accesslog"

	"github.com/spf13/pflag"
)

// Config holds the settings of a service. The help of the flags of serve describes them.
type Config struct {
	engine.URLs

	Listen, MetricsListen, ProfilesListen string // addresses to listen on; if "", metrics are served at Listen, and profiles not at all

	// Public URLs; an empty one is derived from the address in Listen.
	CoreURL, VaultURL, MCPURL, IssuerURL string

	MCPPrefix, MCPScheme string
	MCPIngestRoots       []string
	MCPAllowDelete       bool

	Audience          string
	Issuers           []string
	Admins            []string
	AdminPasswordFile string
	RequireFactor     bool
	RotateKeys        time.Duration
	Proxies, Origins  []string
	Sharing           Sharing

	Workers, SearchLimit, Files int
	FileBytes, UploadBytes      int64
	Extract                     extract.Limits
	Formats                     []string // extensions of the files to read, for extract.ParseFormats
	OCR                         OCR
	FileTimeout, Stall          time.Duration
	PageCacheBytes              int64         // of the cache of page pictures and recognised words; 0 means no cache
	Drain                       time.Duration // time to keep serving after a stop signal, or DefaultDrain
	Quota                       usage.Settings
	Searches                    int // maximum number of concurrent searches of one user

	Answers Answers
	Console Console

	AuditReads      accesslog.Reads
	AccessRetention time.Duration
	AccessBytes     int64
	AccessLog       bool // log each request at level info

	Version string // of the program
	Program string // command that starts this program, for printed instructions
	Reader  string // name of the hidden command that runs a reader process
}

// OCR says how text in pictures of scanned pages is recognised.
type OCR struct {
	Mode           string // OCROn or OCROff
	Languages      string // in the form of ocr.ParseLanguages
	Tesseract      string // path of the program; if "", it is searched in PATH
	PageTime, Time time.Duration
}

// The modes of OCR.
const (
	OCROn  = "on"
	OCROff = "off"
)

func (o *OCR) check() error {
	if o.Mode != OCROn && o.Mode != OCROff {
		return fmt.Errorf("--ocr %s: pass %s or %s", o.Mode, OCROn, OCROff)
	}
	if _, err := ocr.ParseLanguages(o.Languages); err != nil {
		return fmt.Errorf("--ocr-languages: %w", err)
	}
	return nil
}

// DefaultDrain is the value of Drain if it is not set. drainTime then chooses the time,
// depending on whether nodes share read models.
const DefaultDrain = time.Duration(math.MinInt64)

// Bind defines the flags of the language model and of the web pages.
func (c *Config) Bind(flags *pflag.FlagSet) {
	c.Answers.bind(flags)
	c.Console.bind(flags)
}

// Check returns an error that names the first invalid setting.
func (c *Config) Check() error {
	if c.Data == "" {
		return errors.New("--data must not be empty: pass a folder")
	}
	for _, s := range []struct {
		flag     string
		value    int64
		min, max int64
	}{
		{"workers", int64(c.Workers), 1, 1024},
		{"quota-searches", int64(c.Searches), 1, 1024},
		{"search-limit", int64(c.SearchLimit), 1, searchindex.MaxLimit / 2},
		{"max-files", int64(c.Files), 1, 1_000_000},
		{"max-file-bytes", c.FileBytes, 1, math.MaxInt64},
		{"max-upload-bytes", c.UploadBytes, 1, math.MaxInt64},
		{"max-pages", int64(c.Extract.Pages), 1, math.MaxInt32},
		{"max-text-bytes", c.Extract.TextBytes, 1, math.MaxInt64},
		{"max-inflated-bytes", c.Extract.Inflated, 1, math.MaxInt64},
		{"max-inflation", int64(c.Extract.Inflation), 1, math.MaxInt32},
		{"max-nesting", int64(c.Extract.Nesting), 50, 5000},
		{"max-page-pixels", int64(c.Extract.Pixels), 100_000, pdfium.MaxPicturePixels},
		{"page-cache-bytes", c.PageCacheBytes, 0, math.MaxInt64},
	} {
		if s.value < s.min || s.value > s.max {
			return fmt.Errorf("--%s must be from %d to %d", s.flag, s.min, s.max)
		}
	}
	if _, err := extract.ParseFormats(c.Formats); err != nil {
		return fmt.Errorf("--formats: %w", err)
	}
	if c.Extract.Memory < pdfium.LeastMemory {
		return fmt.Errorf("--extract-memory %d: a reader process needs at least %d (%d MiB) for long PDFs; leave the flag out to use %d MiB",
			c.Extract.Memory, pdfium.LeastMemory, pdfium.LeastMemory>>20, pdfium.DefaultMemory>>20)
	}
	if _, err := c.Sharing.Rules(); err != nil {
		return err
	}
	if _, err := c.Quota.Principals(); err != nil {
		return err
	}
	if err := c.URLs.Check(); err != nil {
		return err
	}
	if _, err := parseProxies(c.Proxies); err != nil {
		return err
	}
	for _, text := range c.Issuers {
		if _, err := parseIssuer(text); err != nil {
			return err
		}
	}
	if err := c.Console.check(c.Issuers); err != nil {
		return err
	}
	for _, text := range c.Admins {
		if err := checkAdmin(text); err != nil {
			return err
		}
	}
	for _, text := range c.Origins {
		if err := checkOrigin(text); err != nil {
			return err
		}
	}
	if strings.TrimSpace(c.Audience) == "" {
		return fmt.Errorf("--audience must not be empty: leave the flag out to use %s", signin.DefaultAudience)
	}
	for flag, address := range map[string]string{"listen": c.Listen, "metrics-listen": c.MetricsListen, "pprof": c.ProfilesListen} {
		if _, err := net.ResolveTCPAddr("tcp", address); err != nil && address != "" {
			return fmt.Errorf("--%s %s: %w", flag, address, err)
		}
	}
	if err := c.OCR.check(); err != nil {
		return err
	}
	if err := c.Answers.check(); err != nil {
		return err
	}
	for flag, d := range map[string]time.Duration{"extract-time": c.Extract.Time, "page-time": c.Extract.PageTime, "ocr-page-time": c.OCR.PageTime, "ocr-time": c.OCR.Time, "file-timeout": c.FileTimeout, "stall": c.Stall} {
		if d < time.Second {
			return fmt.Errorf("--%s must be at least 1s", flag)
		}
	}
	if c.RotateKeys != 0 && c.RotateKeys < 24*time.Hour {
		return errors.New("--rotate-keys must be at least 24h, or 0 for never")
	}
	if c.Drain < 0 && c.Drain != DefaultDrain {
		return errors.New("--drain must not be negative: use 0 to stop without draining")
	}
	return nil
}

// drainTime returns how long the server keeps serving after a stop signal.
func (c *Config) drainTime() time.Duration {
	switch {
	case c.Drain >= 0:
		return c.Drain
	case engine.InDatabase(c.ReadModels):
		return 5 * time.Second
	}
	return 0
}
