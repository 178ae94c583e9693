package gen

import "github.com/thrum-rpc/thrum/gen/internal/gofile"

import "testing"

func TestNamesFollowKitex(t *testing.T) {
	for idl, want := range map[string]string{
		"id": "Id", "user_id": "UserId", "fooId": "FooId", "url": "Url", "APIProxy": "APIProxy",
		"MAX_SIZE": "MAX_SIZE", "foo_WiFi": "Foo_WiFi", "id_2_app": "Id_2App", "a__b": "A_B",
		"trailing_": "Trailing_", "version_2_3": "Version_2_3", "case3_1": "Case3_1",
		"NewThing": "NewThing_", "new_thing": "NewThing_", "FooArgs": "FooArgs_", "foo_result": "FooResult_",
		"type": "Type", "_id": "X_Id", "_Leading": "X__Leading", "a.b-c": "A_b_c",
	} {
		if got := identify(idl); got != want {
			t.Errorf("identify(%q) = %q, want %q", idl, got, want)
		}
	}
}

func TestFileNamesAreNeverBuildConstraints(t *testing.T) {
	for idl, want := range map[string]string{
		"shop": "shop", "shop_test": "shop_test_thrift", "net_linux": "net_linux_thrift",
		"a_linux_amd64": "a_linux_amd64_thrift", "linux": "linux", "test": "test", "_x": "x_x", ".": "x_", "a.b": "a_b", "a b": "a_b",
	} {
		if got := fileStem(idl); got != want {
			t.Errorf("fileStem(%q) = %q, want %q", idl, got, want)
		}
	}
}

func TestDirectoriesCanBeImported(t *testing.T) {
	for name, want := range map[string]string{
		"con": "con_", "COM9.x": "COM9_.x", "console": "console", "a.con": "a.con", "x~1": "x~1_", "x~y": "x~y", "~1": "_1", "-": "_", "": "",
	} {
		if got := gofile.Directory(name); got != want {
			t.Errorf("Directory(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestPackageNamesAreIdentifiers(t *testing.T) {
	for part, want := range map[string]string{
		"shop": "shop", "Shop": "shop", "type": "type_", "main": "main_", "init": "init_", "2go": "p2go", "x_test": "x_test_", "_": "pkg_",
	} {
		if got := packageName(part); got != want {
			t.Errorf("packageName(%q) = %q, want %q", part, got, want)
		}
	}
}

func TestCommentsHoldNothingThatGoRefuses(t *testing.T) {
	got := gofile.Comment("one\r\n  two\x00\uFEFF\xff \n\n*/ go:build x")
	want := "// one\n//   two\n//\n// */ go:build x\n"
	if got != want {
		t.Errorf("comment = %q, want %q", got, want)
	}
}
