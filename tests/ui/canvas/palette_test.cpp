// SPDX-License-Identifier: GPL-3.0-or-later
// GPUs of this machine in the palette: listed by a program, offered, and dragged onto the canvas.
#include "ui/canvas/palette.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "tests/ui/canvas/canvas_fixture.h"
#include "ui/model/document/clipboard.h"
#include "ui/model/runs/run.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

// A substitute for trainyard-cli: prints its arguments and these lines, and a note to standard
// error.
class Program {
 public:
  explicit Program(const QByteArray& lines, const QByteArray& note = "") {
    QFile script(path());
    EXPECT_TRUE(script.open(QFile::WriteOnly));
    script.write("#!/bin/sh\necho \"$*\" >'" + asked().toUtf8() + "'\necho '" + note +
                 "' >&2\ncat <<'END'\n" + lines + "END\n");
    script.close();
    script.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
  }
  QString path() const { return directory_.filePath("program"); }
  QString asked() const { return directory_.filePath("asked"); }
  QByteArray was_asked() const {
    QFile file(asked());
    return file.open(QFile::ReadOnly) ? file.readAll() : QByteArray();
  }

 private:
  QTemporaryDir directory_;
};

struct Answer {
  std::vector<MachineGpu> gpus;
  QString note;
};

Answer answer_of(const QString& program) {
  MachineGpus gpus;
  Answer answer;
  QSignalSpy answered(&gpus, &MachineGpus::found);
  QObject::connect(&gpus, &MachineGpus::found,
                   [&](const std::vector<MachineGpu>& all, const QString& note) {
                     answer = {all, note};
                   });
  gpus.look({{}, program, {}, {}});
  EXPECT_TRUE(answered.count() > 0 || answered.wait(20'000));
  return answer;
}

std::vector<MachineGpu> listed(const Program& program) { return answer_of(program.path()).gpus; }

constexpr const char* kTwo =
    R"({"type":"item","name":"NVIDIA H200","help":"","number":0,"memory_bytes":150000000000}
{"type":"item","name":"NVIDIA A2","help":"","number":1,"memory_bytes":16000000000,)"
    R"("peak_flops":4.5e12,"memory_bandwidth_bytes_per_second":2e11,"links":"PCIe 4.0 x8"}
no line of JSON
{"type":"result","status":"completed","kind":"gpus","names":["NVIDIA H200","NVIDIA A2"]}
)";

TEST(MachineGpus, are_listed_by_the_command_line_program) {
  const Program program(kTwo);
  const auto found = listed(program);
  EXPECT_EQ(program.was_asked(), "list gpus --json\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "NVIDIA H200");
  EXPECT_EQ(found[1].device.kind, topology::DeviceKind::gpu);
  EXPECT_EQ(found[1].device.gpu, 1);
  EXPECT_EQ(found[1].device.memory_bytes, 16'000'000'000);
  EXPECT_EQ(found[1].device.peak_flops, 4.5e12);
  EXPECT_EQ(found[1].device.memory_bandwidth_bytes_per_second, 2e11);
  EXPECT_EQ(found[1].links, "PCIe 4.0 x8");
  EXPECT_TRUE(listed(Program("{\"type\":\"result\",\"names\":[]}\n")).empty());
}

TEST(MachineGpus, absence_is_reported_with_a_reason) {
  const Program program("{\"type\":\"result\",\"names\":[]}\n",
                        "note: cuda: this machine has no NVIDIA driver");
  const Answer answer = answer_of(program.path());
  EXPECT_TRUE(answer.gpus.empty());
  EXPECT_EQ(answer.note, "cuda: this machine has no NVIDIA driver");
  EXPECT_TRUE(answer_of("/no/such/program").note.startsWith("/no/such/program "));
  Palette palette;
  palette.offer({}, answer.note);
  EXPECT_TRUE(palette.findItems("GPU", Qt::MatchExactly)
                  .front()
                  ->toolTip()
                  .contains("\ncuda: this machine has no NVIDIA driver\n"));
}

class PaletteOfMachine : public Canvas {
 protected:
  static QListWidgetItem* item(const Palette& palette, const QString& text) {
    const auto found = palette.findItems(text, Qt::MatchExactly);
    return found.size() == 1 ? found.front() : nullptr;
  }
  const std::vector<MachineGpu> gpus_ = listed(Program(kTwo));
};

TEST_F(PaletteOfMachine, offers_each_gpu_and_draws_a_mapped_device) {
  Palette palette;
  const int without = palette.count();
  palette.offer(gpus_);
  palette.offer(gpus_);  // a repeated offer adds nothing
  EXPECT_EQ(palette.count(), without + 2);
  QListWidgetItem* second = item(palette, "A2 (GPU 1)");
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(second->toolTip().contains("GPU 1 of this machine"));
  EXPECT_TRUE(second->toolTip().contains("PCIe 4.0 x8"));
  std::vector<topology::Device> chosen;
  QObject::connect(&palette, &Palette::gpu_chosen,
                   [&](const topology::Device& gpu) { chosen.push_back(gpu); });
  emit palette.itemActivated(second);
  ASSERT_EQ(chosen.size(), 1U);
  view_.place_in_middle(chosen.front());
  const topology::Device* placed = find_device(drawn(), "gpu1");
  ASSERT_NE(placed, nullptr);
  EXPECT_EQ(placed->gpu, 1);
  EXPECT_EQ(placed->memory_bytes, 16'000'000'000);
  document_.undo_stack().undo();
  EXPECT_EQ(find_device(drawn(), "gpu1"), nullptr);
  palette.offer({});
  EXPECT_EQ(palette.count(), without);
}

TEST_F(PaletteOfMachine, drops_a_gpu_at_the_pointer) {
  const auto data = to_mime(Fragment{{}, {[&] {
                                       topology::Device device = gpus_[0].device;
                                       device.name = "gpu";
                                       return device;
                                     }()}});
  QDragEnterEvent enter(view_.rect().center(), Qt::CopyAction, data.get(), Qt::LeftButton,
                        Qt::NoModifier);
  QCoreApplication::sendEvent(view_.viewport(), &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent event(view_.rect().center(), Qt::CopyAction, data.get(), Qt::LeftButton,
                   Qt::NoModifier);
  QCoreApplication::sendEvent(view_.viewport(), &event);
  EXPECT_TRUE(event.isAccepted());
  const topology::Device* placed = find_device(drawn(), "gpu1");
  ASSERT_NE(placed, nullptr);
  EXPECT_EQ(placed->gpu, 0);
}

}  // namespace
}  // namespace trainyard::ui
