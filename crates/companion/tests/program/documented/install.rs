//! `docs/deploy/install.sh` against a release on loopback. Prints what the script said in each case.

use super::root;
use crate::http;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, symlink},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};
use tempfile::TempDir;

const X86: &str = "companion-v0.1.0-x86_64-unknown-linux-gnu";
const ARM: &str = "companion-v0.1.0-aarch64-unknown-linux-gnu";
/// The tools that the script uses, but those that it can choose from.
const TOOLS: [&str; 15] = [
    "awk", "cat", "chmod", "cp", "cut", "gzip", "mktemp", "mv", "rm", "sh", "tar", "tr", "uname", "wc", "env",
];

/// Files of a release, by name.
type Release = BTreeMap<String, Vec<u8>>;

/// Packs a program as the release workflow does.
fn archive(name: &str, program: &str) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join(name)).unwrap();
    fs::write(folder.path().join(name).join("README.md"), "").unwrap();
    fs::write(folder.path().join(name).join("companion"), program).unwrap();
    let packed = Command::new("tar").args(["-czf", "-", name]).current_dir(folder.path()).output().unwrap();
    assert!(packed.status.success());
    packed.stdout
}

fn sums(files: &Release) -> Vec<u8> {
    let line = |(name, bytes): (&String, &Vec<u8>)| {
        let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digits}  {name}\n")
    };
    files.iter().map(line).collect::<String>().into_bytes()
}

/// Returns a release with a program for each platform, which says its target.
fn release() -> Release {
    let file = |name: &str| {
        (format!("{name}.tar.gz"), archive(name, &format!("#!/bin/sh\necho companion 0.1.0 for {name}\n")))
    };
    let mut files = Release::from([file(X86), file(ARM)]);
    files.insert(format!("{X86}.cdx.json"), b"{}".to_vec());
    files.insert("SHA256SUMS".to_owned(), sums(&files));
    files
}

/// Serves the files until the test ends. A file called `NAME.part` is served as `NAME`, with the length of twice as much.
fn serve(files: Release) -> String {
    let address = http::serve(move |head, _| {
        let name = head.split(' ').nth(1).unwrap_or_default().trim_start_matches("/download/");
        let (status, body, length) = match (files.get(name), files.get(&format!("{name}.part"))) {
            (Some(body), _) => ("200 OK", body.as_slice(), body.len()),
            (None, Some(part)) => ("200 OK", part.as_slice(), 2 * part.len()),
            (None, None) => ("404 Not Found", &b"no"[..], 2),
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        [head.as_bytes(), body].concat()
    });
    format!("http://{address}/download")
}

/// A machine with an older program in `bin`.
struct Machine {
    folder: TempDir,
}

impl Machine {
    /// Creates a machine with these tools besides the usual ones, each a program of this machine or a script.
    fn new(chosen: &[Tool]) -> Self {
        let folder = TempDir::new().unwrap();
        let (tools, bin) = (folder.path().join("tools"), folder.path().join("bin"));
        fs::create_dir(&tools).unwrap();
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("companion"), "the older one").unwrap();
        let found = |name: &str| {
            let path = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            path.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{name} is not installed"))
        };
        for (name, script) in chosen {
            match script {
                Some(script) => {
                    fs::write(tools.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
                    fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
                }
                None => symlink(found(name), tools.join(name)).unwrap(),
            }
        }
        for name in TOOLS.into_iter().filter(|name| !tools.join(name).exists()) {
            symlink(found(name), tools.join(name)).unwrap();
        }
        Self { folder }
    }

    fn usual() -> Self {
        Self::new(&[CURL, SUM, UNAME])
    }

    /// Runs the script, and returns whether it succeeded and what it said.
    fn install(&self, case: &str, arguments: &[&str], unprivileged: bool) -> (bool, String) {
        let scratch = self.folder.path().join("tmp");
        fs::create_dir_all(&scratch).unwrap();
        fs::set_permissions(&scratch, fs::Permissions::from_mode(0o777)).unwrap();
        let script = fs::read_to_string(root().join("docs/deploy/install.sh")).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script, "install.sh"]).args(arguments).env_clear();
        shell.env("PATH", self.folder.path().join("tools")).env("TMPDIR", &scratch);
        if unprivileged && fs::metadata(self.folder.path()).unwrap().uid() == 0 {
            fs::set_permissions(self.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
            shell.uid(65_534);
        }
        let output = shell.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap().replace(self.folder.path().to_str().unwrap(), "");
        println!("{case}:\n{said}");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "{case}: it leaves no temporary files");
        (output.status.success(), said)
    }

    fn bin(&self) -> String {
        self.folder.path().join("bin").to_str().unwrap().to_owned()
    }

    /// Returns the installed program. There is nothing else in its folder.
    fn installed(&self) -> String {
        let bin = self.folder.path().join("bin");
        let names: Vec<_> = fs::read_dir(&bin).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["companion"]);
        fs::read_to_string(bin.join("companion")).unwrap()
    }
}

/// A program of this machine, or a script instead of one.
type Tool = (&'static str, Option<&'static str>);

const CURL: Tool = ("curl", None);
const SUM: Tool = ("sha256sum", None);
const UNAME: Tool = ("uname", Some("case $1 in -s) echo Linux;; *) echo x86_64;; esac"));
const UNAME_ARM: Tool = ("uname", Some("case $1 in -s) echo Linux;; *) echo aarch64;; esac"));

#[test]
fn installs_the_program_of_this_platform_with_existing_tools() {
    let address = serve(release());
    // Few machines have all of these.
    let wget = ("wget", Some(r#"[ "$1 $2" = "-q -O" ] && exec /usr/bin/curl -sf -o "$3" "$4""#));
    let shasum = ("shasum", Some(r#"[ "$1 $2" = "-a 256" ] && exec /usr/bin/sha256sum "$3""#));
    let openssl =
        ("openssl", Some(r#"[ "$1 $2 $3" = "dgst -sha256 -r" ] && exec /usr/bin/sha256sum -b "$4""#));
    for (case, tools, name) in [
        ("x86-64, curl, sha256sum", [CURL, SUM, UNAME], X86),
        ("ARM, curl, openssl", [CURL, openssl, UNAME_ARM], ARM),
        ("x86-64, wget, shasum", [wget, shasum, UNAME], X86),
    ] {
        let machine = Machine::new(&tools);
        let (done, said) = machine.install(case, &[&format!("{address}/"), &machine.bin()], false);
        assert!(done, "{said}");
        assert_eq!(said, format!("installed companion 0.1.0 for {name} as /bin/companion\n"));
        assert!(machine.installed().contains(name), "{case}");
        let mode = fs::metadata(machine.folder.path().join("bin/companion")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o755, "{case}");
    }
}

#[test]
fn refuses_releases_machines_and_addresses_that_do_not_fit() {
    let name = format!("{X86}.tar.gz");
    let with = |name: &str, content: Vec<u8>| {
        let mut files = release();
        files.insert(name.to_owned(), content);
        files
    };
    let listed = |lines: String| with("SHA256SUMS", lines.into_bytes());
    let without = |name: &str| {
        let mut files = release();
        files.remove(name);
        files
    };
    let truncated = || {
        let mut files = release();
        let whole = files.remove(&name).unwrap();
        files.insert(format!("{name}.part"), whole[..whole.len() / 2].to_vec());
        files
    };
    let broken = || {
        let mut files = Release::from([(name.clone(), archive(X86, "#!/bin/sh\nexit 1\n"))]);
        files.insert("SHA256SUMS".to_owned(), sums(&files));
        files
    };
    let sum = "0".repeat(64);
    let usual = Machine::usual;
    let address = serve(release());
    for (case, machine, base, expected) in [
        ("wrong file", usual(), serve(with(&name, archive(X86, "#!/bin/sh\n"))), "has the checksum "),
        ("missing file", usual(), serve(without(&name)), "cannot be downloaded"),
        ("truncated file", usual(), serve(truncated()), "cannot be downloaded"),
        ("missing checksums", usual(), serve(without("SHA256SUMS")), "cannot be downloaded"),
        ("no program", usual(), serve(listed(format!("{sum}  {ARM}.tar.gz\n"))), "does not list one program"),
        ("two programs", usual(), serve(listed(format!("{sum}  {name}\n").repeat(2))), "does not list one"),
        ("a path as a name", usual(), serve(listed(format!("{sum}  ../{name}\n"))), "does not list one"),
        ("not a checksum", usual(), serve(listed(format!("0000  {name}\n"))), "does not list one program"),
        ("a program that does not start", usual(), serve(broken()), "does not start on this machine"),
        (
            "another system",
            Machine::new(&[CURL, SUM, ("uname", Some("echo FreeBSD"))]),
            address.clone(),
            "there is no program for FreeBSD",
        ),
        ("no checksum tool", Machine::new(&[CURL, UNAME]), address.clone(), "no tool can compute a SHA-256"),
        ("no download tool", Machine::new(&[SUM, UNAME]), address.clone(), "neither curl nor wget"),
        ("plain http", usual(), "http://release.example".to_owned(), "is no https address"),
        ("a closed port", usual(), "http://127.0.0.1:1".to_owned(), "cannot be downloaded"),
    ] {
        let (done, said) = machine.install(case, &[&base, &machine.bin()], false);
        assert!(!done && said.contains(expected), "{case}: {said}");
        assert_eq!(machine.installed(), "the older one", "{case}");
    }

    let machine = Machine::usual();
    fs::set_permissions(machine.bin(), fs::Permissions::from_mode(0o555)).unwrap();
    for (case, arguments, expected) in [
        ("no write permission", vec![&*address, &machine.bin()], "/bin is no folder that you can write to"),
        ("no arguments", vec![], "usage: sh install.sh BASE_URL [FOLDER]"),
    ] {
        let (done, said) = machine.install(case, &arguments, true);
        assert!(!done && said.contains(expected), "{case}: {said}");
        assert_eq!(machine.installed(), "the older one", "{case}");
    }
}

#[test]
fn a_release_has_a_program_for_every_platform_of_the_script() {
    let script = fs::read_to_string(root().join("docs/deploy/install.sh")).unwrap();
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let targets: Vec<_> =
        script.split(") target=").skip(1).map(|rest| rest.split(' ').next().unwrap()).collect();
    assert_eq!(targets.len(), 2, "{targets:?}");
    for target in targets {
        assert!(workflow.contains(&format!("target: {target},")), "{target}");
    }
    assert!(workflow.contains("companion-${{ github.ref_name }}-${{ matrix.target }}"));
}
