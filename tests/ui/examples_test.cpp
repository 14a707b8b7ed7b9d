// SPDX-License-Identifier: GPL-3.0-or-later
// The installed examples cannot be changed by the user.
#include <QAction>
#include <QFile>
#include <QMenu>
#include <QPushButton>
#include <QTest>

#include "tests/ui/answered_window.h"

namespace trainyard::ui {
namespace {

// The examples of the window are copies, so a failing test does not damage the repository.
class Examples : public test::AnsweredWindow {
 protected:
  Examples() {
    QDir().mkpath(examples());
    for (const QFileInfo& file : QDir(test::kExamples).entryInfoList({"*.json"}, QDir::Files))
      QFile::copy(file.filePath(), path(file.fileName()));
    ui::Setup setup = this->setup();
    setup.services.examples_directory = examples();
    window_ = make(setup);
  }
  QString examples() const { return directory_.filePath("experiments"); }
  QString path(const QString& name) const { return examples() + "/" + name; }
  static QByteArray bytes(const QString& file) {
    QFile in(file);
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
  }
};

TEST_F(Examples, opened_in_any_way_are_saved_as_a_copy) {
  const QString four = path("four_devices_mirrored_digits.json");
  const QByteArray before = bytes(four);
  ASSERT_FALSE(before.isEmpty());
  const auto by_card = [&] {
    return window_->center().welcome().cards().at(1)->open_button().click(), true;
  };
  const auto by_command_line = [&] { return window_->open(four); };
  const auto by_another_path = [&] {
    return window_->open(examples() + "/../experiments/four_devices_mirrored_digits.json");
  };
  int way = 0;
  for (const std::function<bool()>& open :
       {std::function<bool()>(by_card), std::function<bool()>(by_command_line),
        std::function<bool()>(by_another_path)}) {
    save_answer_ = SaveAnswer::discard;
    ASSERT_TRUE(open());
    EXPECT_EQ(window_->document().file(), "") << way;
    EXPECT_EQ(window_->document().title(), "Four devices, mirrored, digits");
    EXPECT_FALSE(window_->isWindowModified()) << "there are no unsaved changes";
    change();
    file_ = directory_.filePath(QString("mine%1.json").arg(++way));
    EXPECT_TRUE(window_->files().save());
    EXPECT_EQ(window_->document().file(), file_) << "a file name was requested";
    EXPECT_EQ(bytes(four), before);
    EXPECT_EQ(experiment::load(file_.toStdString())->training.batch_per_rank, 77);
  }
}

TEST_F(Examples, are_in_the_menu_by_name_and_open_from_there) {
  QMenu file;
  window_->files().fill_menu(file);
  QMenu* menu = nullptr;
  for (QAction* action : file.actions())
    if (action->menu() && action->text() == "Open &example") menu = action->menu();
  ASSERT_TRUE(menu);
  emit menu->aboutToShow();
  EXPECT_EQ(menu->actions().size(), QDir(examples()).entryList({"*.json"}, QDir::Files).size());
  QAction* central = nullptr;
  for (QAction* action : menu->actions()) {
    EXPECT_FALSE(action->toolTip().isEmpty());
    if (action->text().contains("entral storage")) central = action;
  }
  ASSERT_TRUE(central);
  central->trigger();
  EXPECT_EQ(window_->document().experiment().strategy.kind,
            experiment::StrategyKind::central_storage);
  EXPECT_EQ(window_->document().file(), "") << "as a new document";
}

TEST_F(Examples, are_not_in_the_recent_files) {
  ASSERT_TRUE(window_->open(path("one_device_digits.json")));
  EXPECT_TRUE(RecentFiles(directory_.filePath("settings.ini")).files().isEmpty());
  file_ = directory_.filePath("mine.json");
  ASSERT_TRUE(window_->files().save());
  EXPECT_EQ(RecentFiles(directory_.filePath("settings.ini")).files(), QStringList(file_));
}

TEST_F(Examples, find_files_in_their_directory_as_new_documents) {
  ASSERT_TRUE(window_->open(path("four_devices_mirrored_mnist.json")));
  const auto given = *experiment::load(path("four_devices_mirrored_mnist.json").toStdString());
  const data::DataSpec& data = window_->document().experiment().data;
  ASSERT_FALSE(QFileInfo(QString::fromStdString(given.data.images)).isAbsolute());
  EXPECT_EQ(QString::fromStdString(data.images),
            QDir::cleanPath(path(QString::fromStdString(given.data.images))));
  EXPECT_EQ(QString::fromStdString(data.labels),
            QDir::cleanPath(path(QString::fromStdString(given.data.labels))));
}

}  // namespace
}  // namespace trainyard::ui
