// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_window.h"

#include <gtest/gtest.h>

#include <QClipboard>
#include <QDir>
#include <QGuiApplication>
#include <QLineEdit>
#include <QListWidget>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStackedWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QTextFrame>
#include <QTreeWidget>

#include "ui/manual/page_document.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

const QString kDirectory = TRAINYARD_SOURCE_DIR "/resources/manual";

class ManualWindowTest : public testing::Test {
 protected:
  ManualWindowTest()
      : manual_(*manual::Manual::load(kDirectory.toStdString())),
        settings_(directory_.filePath("settings.ini"), QSettings::IniFormat),
        window_(manual_, kDirectory, settings_) {
    window_.resize(1000, 700);
    window_.show();
    settle();
  }
  ~ManualWindowTest() override { Theme::instance().apply(Theme::Kind::light); }

  static void settle() { QTest::qWait(50); }
  void go(const std::string& file, const std::string& slug = "", const std::string& word = "") {
    window_.show_place({file, slug, word});
    settle();
  }
  std::string place() { return manual::to_string(browser().place()); }
  ManualBrowser& browser() { return window_.browser(); }
  int scrolled() { return browser().verticalScrollBar()->value(); }
  void search(const QString& words) {
    window_.search_field().setText(words);
    const auto searched = [&] {
      return window_.tree().isVisible() == words.isEmpty() &&
             (window_.hits().isVisible() || words.isEmpty() ||
              window_.findChild<TintedLabel*>()->isVisible());
    };
    EXPECT_TRUE(QTest::qWaitFor(searched, 60'000));
  }
  QTreeWidgetItem* item(const QString& title) {
    const auto found = window_.tree().findItems(title, Qt::MatchExactly | Qt::MatchRecursive);
    return found.isEmpty() ? nullptr : found.first();
  }
  // The text at the top of the page's view.
  QString at_top() {
    return browser().cursorForPosition({browser().viewport()->width() / 2, 24}).block().text();
  }

  QTemporaryDir directory_;
  manual::Manual manual_;
  QSettings settings_;
  ManualWindow window_;
};

TEST_F(ManualWindowTest, begins_with_the_contents) {
  EXPECT_EQ(place(), "index.md");
  EXPECT_TRUE(window_.windowTitle().contains("Trainyard manual"));
  ASSERT_NE(item("Mixed precision"), nullptr);
  EXPECT_EQ(item("Mixed precision")->parent()->text(0), "Training");
}

TEST_F(ManualWindowTest, contents_open_pages_and_follow_them) {
  window_.tree().setCurrentItem(item("Mixed precision"));
  EXPECT_EQ(place(), "mixed_precision.md");
  go("training.md", "learning-rate");
  EXPECT_EQ(window_.tree().currentItem()->text(0), "Training");
  go("training.md", "fields");
  EXPECT_EQ(window_.tree().currentItem()->text(0), "Fields");
}

TEST_F(ManualWindowTest, section_is_scrolled_to_the_top) {
  go("training.md", "formulas");
  EXPECT_EQ(at_top(), "Formulas");
  window_.resize(760, 500);
  settle();
  EXPECT_EQ(at_top(), "Formulas");
}

TEST_F(ManualWindowTest, field_is_highlighted_and_visible) {
  go("training.md", "fields", "training.schedule.factor");
  ASSERT_EQ(browser().extraSelections().size(), 1);
  const QTextCursor row = browser().extraSelections()[0].cursor;
  EXPECT_EQ(without_breaks(row.selectedText()), "training.schedule.factor");
  EXPECT_TRUE(browser().viewport()->rect().contains(browser().cursorRect(row).center()));
}

TEST_F(ManualWindowTest, back_and_forward_return_to_the_scrolled_position) {
  go("training.md");
  browser().verticalScrollBar()->setValue(300);
  go("gossip.md", "formulas");
  QTest::keyClick(&browser(), Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(place(), "training.md");
  EXPECT_EQ(scrolled(), 300);
  QTest::keyClick(&browser(), Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(place(), "gossip.md#formulas");
  EXPECT_FALSE(browser().can_go_forward());
  browser().go_back();
  go("tpu.md");
  EXPECT_FALSE(browser().can_go_forward());
}

TEST_F(ManualWindowTest, links_open_pages_sections_and_the_browser) {
  go("developers/threads.md");
  QSignalSpy external(&browser(), &ManualBrowser::external_link);
  emit browser().anchorClicked(QUrl("../checkpoints.md#resume"));
  EXPECT_EQ(place(), "checkpoints.md#resume");
  emit browser().anchorClicked(QUrl("#fields"));
  EXPECT_EQ(place(), "checkpoints.md#fields");
  EXPECT_EQ(external.size(), 0);
  external.clear();
  browser().disconnect(&window_);  // the desktop is not asked
  emit browser().anchorClicked(QUrl("https://example.org"));
  ASSERT_EQ(external.size(), 1);
  EXPECT_EQ(external[0][0].toUrl(), QUrl("https://example.org"));
  EXPECT_EQ(place(), "checkpoints.md#fields");
}

TEST_F(ManualWindowTest, search_lists_sections_and_opens_them) {
  search("memory advice");
  ASSERT_GT(window_.hits().count(), 0);
  EXPECT_TRUE(window_.hits().item(0)->text().startsWith("Memory: Memory advice\n"))
      << window_.hits().item(0)->text().toStdString();
  QTest::keyClick(&window_.search_field(), Qt::Key_Return);
  EXPECT_EQ(place(), "memory.md#memory-advice");
  EXPECT_GT(browser().extraSelections().size(), 1);
  QTest::keyClick(&window_.search_field(), Qt::Key_Down);
  QTest::keyClick(&window_.search_field(), Qt::Key_Down);
  EXPECT_EQ(window_.hits().currentRow(), 1);
}

TEST_F(ManualWindowTest, search_without_results_reports_it) {
  search("zebra");
  EXPECT_EQ(window_.hits().count(), 0);
  const auto labels = window_.findChildren<TintedLabel*>();
  ASSERT_FALSE(labels.isEmpty());
  EXPECT_TRUE(labels.first()->isVisible());
  EXPECT_TRUE(labels.first()->text().contains("zebra"));
  search("");
  EXPECT_TRUE(window_.tree().isVisible());
}

TEST_F(ManualWindowTest, keys_search_and_close) {
  QTest::keyClick(&window_, Qt::Key_F, Qt::ControlModifier);
  EXPECT_TRUE(window_.search_field().hasFocus());
  search("ring");
  QTest::keyClick(&window_, Qt::Key_Escape);
  EXPECT_EQ(window_.search_field().text(), "");
  EXPECT_TRUE(window_.isVisible());
  QTest::keyClick(&window_, Qt::Key_Escape);
  EXPECT_FALSE(window_.isVisible());
}

TEST_F(ManualWindowTest, copy_contains_no_zero_width_space) {
  go("training.md", "fields", "training.schedule.factor");
  browser().setTextCursor(browser().extraSelections()[0].cursor);
  browser().copy();
  EXPECT_EQ(QGuiApplication::clipboard()->text(), "training.schedule.factor");
}

TEST_F(ManualWindowTest, follows_theme_and_text_size) {
  go("training.md", "formulas");
  const auto color = [&] {
    return browser().document()->find("Formulas").charFormat().foreground().color();
  };
  const double size = browser().document()->find("Formulas").charFormat().fontPointSize();
  Theme::instance().apply(Theme::Kind::dark, 2);
  settle();
  EXPECT_EQ(color(), colors().text);
  EXPECT_NEAR(browser().document()->find("Formulas").charFormat().fontPointSize(), 2 * size, 0.1);
  EXPECT_EQ(at_top(), "Formulas");
}

TEST_F(ManualWindowTest, keeps_the_highlighted_field_when_its_size_or_theme_changes) {
  go("topology.md", "fields", "topology.hosts[0].devices[0].memory_bandwidth_bytes_per_second");
  window_.resize(760, 500);
  settle();
  Theme::instance().apply(Theme::Kind::dark, 1.5);
  settle();
  ASSERT_EQ(browser().extraSelections().size(), 1);
  const QTextCursor row = browser().extraSelections()[0].cursor;
  EXPECT_EQ(row.document(), browser().document());
  EXPECT_TRUE(browser().viewport()->rect().contains(browser().cursorRect(row).center()));
}

TEST_F(ManualWindowTest, no_page_is_wider_than_the_window) {
  for (const double scale : {1.0, 2.0}) {
    Theme::instance().apply(Theme::Kind::light, scale);
    window_.resize(1280, 700);
    settle();
    for (const manual::Page& page : manual_.pages()) {
      browser().show_place({page.file, "", ""});
      EXPECT_LE(browser().horizontalScrollBar()->maximum(), 2) << page.file << " at " << scale;
      EXPECT_FALSE(browser().horizontalScrollBar()->isVisible()) << page.file;
    }
  }
}

TEST_F(ManualWindowTest, lines_of_running_text_have_at_most_104_characters) {
  window_.resize(1900, 700);
  go("checkpoints.md");
  const QTextDocument& document = *browser().document();
  int lines = 0;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    if (QTextCursor(block).currentFrame() != document.rootFrame()) continue;  // a table or code
    for (int line = 0; line < block.layout()->lineCount(); ++line, ++lines)
      EXPECT_LE(block.layout()->lineAt(line).textLength(), 104) << block.text().toStdString();
  }
  EXPECT_GT(lines, 20);
}

}  // namespace
}  // namespace trainyard::ui
