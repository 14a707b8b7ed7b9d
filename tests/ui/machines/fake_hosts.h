// SPDX-License-Identifier: GPL-3.0-or-later
// A substitute for trainyard-cli: a shell script that prints lines of JSON.
#pragma once

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>

#include "ui/model/runs/services.h"

namespace trainyard::ui::test {

class FakeHosts {
 public:
  explicit FakeHosts(const QByteArray& body) {
    QFile script(program());
    EXPECT_TRUE(script.open(QFile::WriteOnly));
    script.write("#!/bin/sh\necho \"$*\" >>'" + directory_.filePath("asked").toUtf8() + "'\n" +
                 body);
    script.close();
    script.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
  }
  QString program() const { return directory_.filePath("program"); }
  Services services() const { return {{}, program(), {}, {}}; }
  // Arguments of all calls, one call a line.
  QByteArray asked() const { return read("asked"); }
  void write(const char* name, const QByteArray& content) const {
    QFile file(directory_.filePath(name));
    EXPECT_TRUE(file.open(QFile::WriteOnly) && file.write(content) == content.size());
  }
  QByteArray read(const char* name) const {
    QFile file(directory_.filePath(name));
    return file.open(QFile::ReadOnly) ? file.readAll() : QByteArray();
  }

 private:
  QTemporaryDir directory_;
};

// Answers `hosts add`: asks both questions and writes the answers to the file "answers".
inline constexpr const char* kAddsMachine = R"(here=$(dirname "$0")
echo '{"fingerprint":"SHA256:abc","kind":"ED25519","type":"question","subject":"host_key"}'
read answer; echo "$answer" >>"$here/answers"; [ "$answer" = yes ] || exit 2
echo '{"name":"0.1.0-cafe","bytes":32700000.0,"type":"question","subject":"agent"}'
read answer; echo "$answer" >>"$here/answers"; [ "$answer" = yes ] || exit 2
echo '{"type":"progress","sent_bytes":16350000,"total_bytes":32700000}'
[ -e "$here/wait" ] && sleep 60
echo '{"type":"progress","sent_bytes":32700000,"total_bytes":32700000}'
echo '{"destination":"me@node1","host":"node1.lab","architecture":"x86_64","cores":8,'\
'"memory_bytes":16600000000,"addresses":["10.0.0.2"],"type":"result","status":"completed"}'
)";

inline constexpr const char* kRefusesLogin =
    R"(echo '{"type":"result","status":"refused","problems":[{"id":"login_refused",)"
    R"("code":"unavailable","where":"me@node1","what":"the host does not accept a key of this )"
    R"(user","accepted":"","advice":"Run ssh-copy-id me@node1."}]}'; exit 2
)";

// Answers `hosts listen`, `list` (with the lines of the file "list"), `withdraw` and `remove`.
inline constexpr const char* kInvites = R"(here=$(dirname "$0")
case "$2" in
  listen) echo '{"invitation":"10.0.0.7:29700/4J2K-9QTX-0A7B-M3PD-W8ZC-E5RY","machines":'$6\
',"seconds":7200.0,"qr_code":["101","010","110"],"type":"result","status":"completed"}';;
  list) cat "$here/list" 2>/dev/null; echo '{"type":"result","status":"completed"}';;
  *) echo '{"type":"result","status":"completed"}';;
esac
)";

// Lines of `hosts list`: two machines that joined, of which one is silent, and one that was added.
inline constexpr const char* kTwoJoined =
    R"({"destination":"joined:lab1","host":"lab1","architecture":"x86_64","cores":8,)"
    R"("memory_bytes":16600000000,"addresses":["10.0.0.9"],"joined":true,"seconds":3500.0,)"
    R"("silent_seconds":0.4,"type":"host"}
{"destination":"joined:lab2","host":"lab2","architecture":"x86_64","cores":4,)"
    R"("memory_bytes":8000000000,"addresses":["10.0.0.10"],"joined":true,"seconds":3500.0,)"
    R"("silent_seconds":12.2,"type":"host"}
{"destination":"me@node1","host":"node1","architecture":"x86_64","cores":2,)"
    R"("memory_bytes":4000000000,"addresses":[],"type":"host"}
)";
inline constexpr const char* kOneInvitation =
    R"({"type":"invitation","invitation":"10.0.0.7:29700/4J2K-9QTX-0A7B-M3PD-W8ZC-E5RY",)"
    R"("machines":1,"seconds":7100.0}
)";

// Answers `hosts check`: five rows, of which three failed.
inline constexpr const char* kThreeFailedRows =
    R"sh(cat <<'END'
{"type":"check","host":"host0","check":"connection","passed":true,"text":"me@node1 as me"}
{"type":"check","host":"host0","check":"cores","passed":false,"text":"the machine has 4 cores"}
{"type":"check","host":"host0","check":"memory","passed":true,"text":"16.6 GB (drawn: 4 GB)"}
{"type":"check","host":"host0","check":"clock","passed":false,"text":"the clock is +90 s"}
{"type":"check","host":"host1","check":"connection","passed":false,"text":"no agent"}
{"type":"result","status":"refused","problems":[)sh"
    R"sh({"id":"too_few_cores","code":"unavailable","where":"host0",)sh"
    R"sh("what":"the machine has 4 cores","accepted":"drawn: 8",)sh"
    R"sh("advice":"Draw what the machine has."},)sh"
    R"sh({"id":"clock_differs","code":"unavailable","where":"","what":"the clock is +90 s",)sh"
    R"sh("accepted":"at most 60 s","advice":"Synchronize it."},)sh"
    R"sh({"id":"agent_missing","code":"unavailable","where":"host1","what":"no agent",)sh"
    R"sh("accepted":"","advice":"Run trainyard-cli hosts add node2."}]}
END
exit 2
)sh";

}  // namespace trainyard::ui::test
