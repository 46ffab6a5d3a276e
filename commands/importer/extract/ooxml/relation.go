// Package ooxml reads what Word, PowerPoint and Excel files have in common: relations between parts,
// properties, charts, diagrams and formulas. It imports extract, extract/blocks, extract/zipxml and
// events/fault.
package ooxml

import (
	"path"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

const maxRelations = 100_000 // of a part

// Relation is a reference from a part to another part.
type Relation struct {
	Kind     string // last segment of the type, such as "styles"
	Target   string // name of the part; "" if it is external, because nothing outside of the file is read
	External bool
}

// Relations are the relations of a part, by id.
type Relations map[string]Relation

// ReadRelations returns the relations of a part, or of the package if part is "".
func ReadRelations(p *zipxml.Package, part string) (Relations, error) {
	folder, base := path.Split(part)
	rels := Relations{}
	err := p.Each(zipxml.Name("", folder+"_rels/"+base+".rels"), zipxml.SmallPart, "Relationship", func(x *zipxml.Part, e *zipxml.Element) error {
		if len(rels) >= maxRelations {
			return fault.Errorf(fault.Invalid, "the %s has more than %d relations in one part: save it again as PDF, and upload that", p.Kind(), maxRelations)
		}
		kind := e.Attr("Type")
		r := Relation{Kind: kind[strings.LastIndexByte(kind, '/')+1:], External: e.Attr("TargetMode") == "External"}
		if !r.External {
			r.Target = zipxml.Name(folder, e.Attr("Target"))
		}
		rels[e.Attr("Id")] = r
		return x.Skip()
	})
	return rels, err
}

// Find returns the target of the relation of this kind. If there is none, it returns the usual
// part, even if that does not exist.
func (rels Relations) Find(p *zipxml.Package, kind, usual string) string {
	found := ""
	for _, r := range rels {
		if r.Kind == kind && !r.External && p.Has(r.Target) && (found == "" || r.Target < found) {
			found = r.Target
		}
	}
	if found == "" {
		return usual
	}
	return found
}

// Folder returns the folder of a part, with "/" at its end.
func Folder(part string) string { return part[:strings.LastIndexByte(part, '/')+1] }

// Open returns the name of the main part of a file, and the title in its properties. fallback is
// the usual name of the main part, for files that do not say it. The error is that of
// zipxml.Package.OtherKind if the file has no main part.
func Open(p *zipxml.Package, fallback string) (main, title string, err error) {
	root, err := ReadRelations(p, "")
	if err != nil {
		return "", "", err
	}
	if main = root.Find(p, "officeDocument", fallback); !p.Has(main) {
		return "", "", p.OtherKind()
	}
	title, err = readTitle(p, root)
	return main, title, err
}

// readTitle returns the title in the properties of a file, or "" if it looks like one that a program
// and not the author has set.
func readTitle(p *zipxml.Package, root Relations) (title string, err error) {
	part := root.Find(p, "core-properties", "docprops/core.xml")
	err = p.Each(part, zipxml.SmallPart, "title", func(x *zipxml.Part, _ *zipxml.Element) error {
		title, err = x.Text()
		return err
	})
	return AuthorsTitle(title), err
}

// AuthorsTitle returns a title from a file's properties, or "" if it looks like one that a program
// and not the author has set.
func AuthorsTitle(title string) string {
	title = strings.TrimPrefix(extract.CleanTitle(title), "Microsoft Word - ")
	title = strings.TrimPrefix(title, "Microsoft PowerPoint - ")
	switch strings.ToLower(title) {
	case "word document", "untitled", "document", "document1", "title", "powerpoint presentation", "powerpoint-präsentation", "présentation powerpoint", "presentación de powerpoint", "slide 1", "presentation", "book1":
		return ""
	}
	return title
}
