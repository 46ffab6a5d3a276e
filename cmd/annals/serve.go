package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/service"
	"annals/cmd/annals/settings"
	"annals/commands/foldertree"
	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/quota"
	"annals/http/signin"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const serveName = "serve"

// defaultListen is the default of --listen. Tests change it, so that they never call a
// server that somebody runs on this machine.
var defaultListen = "127.0.0.1:8080"

func serveCommand(at *engine.URLs) *cobra.Command {
	c := &service.Config{Version: version(), Program: programName(), Reader: readerName}
	var level, format string
	command := &cobra.Command{
		Use:   serveName,
		Short: "Run the service",
		Long: "Run the service. The first start creates the data folder and the user admin, and prints what to do next.\n" +
			"An interrupt shuts it down: it finishes its requests and the files that it is importing. Accepted files that are\n" +
			"still waiting are imported after the next start.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.URLs = *at
			if err := c.Check(); err != nil {
				return err
			}
			logger, err := service.NewLogger(level, format, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, warning := range settings.UnknownVariables(cmd.Root(), os.Environ()) {
				logger.Warn(warning)
			}
			return service.Run(cmd.Context(), c, logger, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.Listen, "listen", defaultListen, "address to listen on, HOST:PORT; an empty host means all addresses")
	flags.StringVar(&c.MetricsListen, "metrics-listen", "", "address, HOST:PORT, that serves /metrics and nothing else; /metrics is then not served on --listen (default: the address of --listen)")
	bindLog(flags, at)
	flags.StringVar(&at.ReadModels, "read-models", "", "URL of the read models: sqlite:///folder, or postgres://user:password@host/database?schema=PREFIX, which several nodes can share (default: in the data folder)")
	flags.StringVar(&at.Search, "search", "", "URL of the search index: "+engine.SearchEngines.Forms()+" (default: in the data folder)")
	at.BindEmbeddings(flags)
	flags.StringVar(&at.Originals, "originals", "", "URL of the uploaded files: file:///folder, or s3://bucket/prefix, which several nodes can share (default: in the data folder)")
	flags.StringVar(&c.CoreURL, "core-url", "", "public URL of the core, as clients reach it (default: http://ADDRESS/core with the address of --listen)")
	flags.StringVar(&c.VaultURL, "vault-url", "", "public URL of the vault, as clients reach it (default: http://ADDRESS/vault with the address of --listen)")
	flags.StringVar(&c.MCPURL, "mcp-url", "", "public URL of the MCP endpoint, as agents reach it (default: http://ADDRESS/mcp with the address of --listen)")
	flags.StringVar(&c.MCPPrefix, "mcp-prefix", "service_", "prefix of the MCP tools' names")
	flags.StringVar(&c.MCPScheme, "mcp-scheme", "service", "URI scheme of the MCP resources")
	flags.StringArrayVar(&c.MCPIngestRoots, "mcp-ingest-root", nil, "folder on this machine from which agents may import files, including all folders below it; repeatable (default: none)")
	flags.BoolVar(&c.MCPAllowDelete, "mcp-allow-delete", false, "let agents delete documents")
	flags.StringVar(&c.IssuerURL, "issuer-url", "", "public URL of the built-in sign-in (default: http://ADDRESS/signin with the address of --listen)")
	flags.StringVar(&c.Audience, "audience", signin.DefaultAudience, "audience (claim aud) of the tokens that the built-in sign-in issues")
	flags.StringArrayVar(&c.Issuers, "issuer", nil, "also accept tokens of this OpenID issuer: url=URL,alias=NAME,audience=A[,user-claim=C][,groups-claim=C][,admin-claim=C][,admin-value=V]; repeatable (default: only the built-in sign-in)")
	flags.StringSliceVar(&c.Admins, "admin", nil, "users who are administrators and may do everything: alice for the built-in sign-in, user:corp/alice for the --issuer with alias corp; comma-separated or repeated (default: none)")
	flags.StringVar(&c.AdminPasswordFile, "admin-password-file", "", "file whose first line is the initial password of the user admin; only its owner may have access; read only by the first start (default: a random password, which is printed if standard output is a terminal)")
	flags.BoolVar(&c.RequireFactor, "require-second-factor", false, "require a one-time code or a passkey from every user of the built-in sign-in; users who have none set one up at their next sign-in")
	flags.DurationVar(&c.RotateKeys, "rotate-keys", 0, "replace the signing key of the built-in sign-in at this age, such as 2160h; at least 24h, 0 for never (default: never; annals keys rotate replaces it)")
	flags.StringSliceVar(&c.Proxies, "trusted-proxy", nil, "addresses or networks of reverse proxies, such as 10.0.0.0/8, whose header X-Forwarded-For is believed; needed behind a proxy, because failed sign-ins are limited per client address; comma-separated or repeated (default: none)")
	flags.StringSliceVar(&c.Origins, "cors-origin", nil, "origins whose web pages may call the service, such as https://app.example, or * for all; comma-separated or repeated (default: none)")
	flags.StringVar(&c.Sharing.Shares, "shares", "invite", "when a grant to a single user takes effect: invite (after that user accepts; immediately if an administrator grants it) or open (immediately)")
	flags.StringVar(&c.Sharing.With, "share-with", "anyone", "with whom owners may share folders: anyone, own-groups (single users and groups of the owner), or admins (only administrators may share)")
	flags.StringVar(&c.Sharing.TopLevel, "top-level-folders", "everyone", "who may create folders at the top level: everyone, admins, or group:NAME (members of that group, and admins)")
	flags.IntVar(&c.Sharing.InvitationsMade, "max-invitations-made", foldertree.DefaultMaxSent, "maximum number of unanswered invitations that one user has sent")
	flags.IntVar(&c.Sharing.InvitationsReceived, "max-invitations-received", foldertree.DefaultMaxReceived, "maximum number of unanswered invitations that one user has received")
	flags.IntVar(&c.Workers, "workers", runtime.NumCPU(), "maximum number of files that are imported at the same time, from 1 to 1024")
	flags.IntVar(&c.SearchLimit, "search-limit", 10, "number of passages that a search returns if the request sets no limit")
	flags.IntVar(&c.Files, "max-files", 10_000, "maximum number of files in one upload")
	flags.Int64Var(&c.FileBytes, "max-file-bytes", 1<<30, "maximum size of one uploaded file, in bytes")
	flags.Int64Var(&c.UploadBytes, "max-upload-bytes", 64<<30, "maximum size of one upload, in bytes")
	flags.StringSliceVar(&c.Formats, "formats", []string{"standard"}, "types of files to import: standard ("+extract.StandardFormats().String()+"), all ("+extract.AllFormats().String()+"), or extensions; comma-separated or repeated")
	flags.IntVar(&c.Extract.Pages, "max-pages", 5000, "maximum number of pages of a PDF or TIFF file; a longer one fails")
	flags.Int64Var(&c.Extract.TextBytes, "max-text-bytes", 1<<30, "maximum size of the text of one file, in bytes; a file with more text fails")
	limits := extract.Limits{}.OrDefault()
	flags.Int64Var(&c.Extract.Inflated, "max-inflated-bytes", limits.Inflated, "maximum uncompressed size of one file that is an archive, such as a Word document, in bytes; a larger one fails")
	flags.IntVar(&c.Extract.Inflation, "max-inflation", limits.Inflation, "maximum uncompressed size of one file that is an archive, as a multiple of the size of the file; one with more than that and 64 MiB fails")
	flags.IntVar(&c.Extract.Nesting, "max-nesting", limits.Nesting, "maximum nesting of elements in Office and OpenDocument files and books, and of groups in Rich Text, from 50 to 5000; a file with deeper ones fails")
	flags.IntVar(&c.Extract.Pixels, "max-page-pixels", limits.Pixels, "maximum number of pixels of the picture of a page, to be recognised or shown, from 100000 to 8000000; a larger page is drawn smaller")
	flags.DurationVar(&c.Extract.PageTime, "page-time", limits.PageTime, "maximum time for reading or drawing one page of a PDF or image file; reading stops at a page that takes longer; at least 1s")
	flags.DurationVar(&c.Extract.Time, "extract-time", 10*time.Minute, "maximum time, and maximum CPU time, for reading the text of one file; at least 1s")
	flags.Int64Var(&c.Extract.Memory, "extract-memory", pdfium.DefaultMemory, fmt.Sprintf("maximum memory of one reader process, in bytes; at least %d (192 MiB)", pdfium.LeastMemory))
	c.PageCacheBytes = 1 << 30
	flags.Var(settings.Limit(quota.Bytes, &c.PageCacheBytes), "page-cache-bytes", "maximum size of the cache of page pictures and recognised words in the data folder, such as 5GiB; the least recently used are removed beyond it; 0 means no cache")
	flags.StringVar(&c.OCR.Mode, "ocr", service.OCROn, "whether text in pictures of scanned pages is recognised: on (if Tesseract is installed) or off")
	flags.StringVar(&c.OCR.Languages, "ocr-languages", "", "languages of scanned pages, as Tesseract names them, such as eng+deu; the fewer, the faster (default: all that are installed)")
	bindTesseract(flags, &c.OCR.Tesseract)
	flags.DurationVar(&c.OCR.PageTime, "ocr-page-time", time.Minute, "maximum CPU time, and a tenth of the maximum time, for recognising the text of one page; the page then stays unread; at least 1s")
	flags.DurationVar(&c.OCR.Time, "ocr-time", time.Hour, "maximum CPU time for recognising the text of one file, added up over its pages; further pages stay unread; at least 1s")
	flags.DurationVar(&c.FileTimeout, "file-timeout", 15*time.Minute, "maximum time for one attempt to import a file; it begins anew after the file has waited for a turn, and after pages were recognised; at least 1s")
	flags.DurationVar(&c.Stall, "stall", time.Minute, "close the progress stream of an import after this time without progress; at least 1s")
	flags.DurationVar(&c.Drain, "drain", service.DefaultDrain, "how long to keep serving after a stop signal, with status 503 on /readyz, so that load balancers stop sending requests (default: 5s if nodes share read models, else 0s)")
	flags.Lookup("drain").DefValue = "0s" // cobra does not show a zero duration as the default
	bindLimits(flags, &c.Quota, &c.Searches)
	c.Bind(flags)
	c.AccessRetention, c.AccessBytes = 90*24*time.Hour, 1<<30
	flags.Var(settings.Reads("admins", &c.AuditReads), "audit-reads", "which reads the audit trail records: none, admins (all downloads, and reads by administrators of documents that others own), sample:N (those of admins, and one in N of the others), or all")
	flags.Var(settings.Days(&c.AccessRetention), "access-log-retention", "how long the audit trail keeps sign-ins, refusals and reads, such as 90d or 12h; 0 means forever")
	flags.Var(settings.Limit(quota.Bytes, &c.AccessBytes), "access-log-bytes", "maximum size of the sign-ins, refusals and reads in the audit trail, such as 5GiB; the oldest are deleted beyond it; 0 means no limit")
	flags.BoolVar(&c.AccessLog, "access-log", false, "write one line per request to standard error at level info, with user, route, status, duration and correlation id; without this flag the level is debug")
	flags.StringVar(&level, "log-level", "info", "lowest level of messages on standard error: debug, info, warn or error")
	flags.StringVar(&format, "log-format", "text", "format of messages on standard error: text or json")
	flags.StringVar(&c.ProfilesListen, "pprof", "", "address, HOST:PORT, that serves Go profiles; they expose the memory of the process (default: none)")
	if err := flags.MarkHidden("pprof"); err != nil {
		panic(err) // unreachable: the flag is defined
	}
	return command
}

// bindTesseract defines the flag with the path of Tesseract.
func bindTesseract(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, "tesseract", "", "path of the program Tesseract, which recognises text in pictures (default: searched in PATH)")
}

// programName returns the command with which the user started this program.
func programName() string {
	path, err := os.Executable()
	if err == nil && filepath.Base(filepath.Dir(path)) == "exe" {
		return "go run ./cmd/annals"
	}
	return os.Args[0]
}
