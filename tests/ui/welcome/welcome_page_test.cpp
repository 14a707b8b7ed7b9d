// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/welcome/welcome_page.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <optional>

#include "tests/ui/pictures.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

const QString kExamples = QString(TRAINYARD_SOURCE_DIR) + "/resources/experiments";

class WelcomePageTest : public testing::Test {
 protected:
  WelcomePageTest() { page_.resize(1200, 800); }
  static QString words(const QWidget& widget) {
    QStringList texts;
    for (const QLabel* label : widget.findChildren<QLabel*>()) texts << label->text();
    return texts.join("\n");
  }
  QTemporaryDir directory_;
  RecentFiles recent_{directory_.filePath("settings.ini")};
  WelcomePage page_{kExamples, recent_};
};

TEST_F(WelcomePageTest, three_examples_come_first) {
  ASSERT_EQ(page_.cards().size(), 3u);
  EXPECT_TRUE(words(*page_.cards()[0]).contains("One device"));
  EXPECT_TRUE(words(*page_.cards()[1]).contains("Four devices, mirrored, digits"));
  EXPECT_TRUE(words(*page_.cards()[2]).contains("MNIST"));
}

TEST_F(WelcomePageTest, recent_files_are_readable_after_every_theme_change) {
  recent_.add(kExamples + "/one_device_digits.json");
  page_.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&page_));
  const auto buttons = page_.findChildren<QPushButton*>();
  const auto recent = std::ranges::find_if(buttons, [](const QPushButton* button) {
    return button->text().startsWith("one_device_digits.json");
  });
  ASSERT_NE(recent, buttons.end());
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(kind);
    QCoreApplication::processEvents();
    EXPECT_GE(test::text_contrast((*recent)->parentWidget()->grab((*recent)->geometry()).toImage()),
              test::kReadable)
        << Theme::instance().dark();
  }
}

TEST_F(WelcomePageTest, one_click_opens_and_runs) {
  std::optional<QString> file;
  QObject::connect(&page_, &WelcomePage::run_requested,
                   [&](const experiment::Experiment&, const QString& asked) { file = asked; });
  page_.cards()[1]->run_button().click();
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->endsWith("four_devices_mirrored_digits.json"));
}

TEST_F(WelcomePageTest, example_can_be_opened_without_running) {
  QSignalSpy opened(&page_, &WelcomePage::open_requested);
  page_.cards()[0]->open_button().click();
  ASSERT_EQ(opened.size(), 1);
}

TEST_F(WelcomePageTest, names_missing_files_and_offers_digits) {
  auto example = read_example(kExamples + "/four_devices_mirrored_mnist.json");
  ASSERT_TRUE(example);
  ASSERT_TRUE(QFile::copy(kExamples + "/four_devices_mirrored_mnist.json",
                          directory_.filePath("mnist.json")));  // no data beside it
  example = read_example(directory_.filePath("mnist.json"));
  ASSERT_TRUE(example && example->missing);
  ExampleCard card(*example);
  EXPECT_TRUE(words(card).contains("train-images-idx3-ubyte"));
  EXPECT_TRUE(words(card).contains("data/mnist")) << words(card).toStdString();
  EXPECT_TRUE(words(card).contains(QRegularExpression("from https://\\S+/mnist/ ")))
      << "the source of the files is missing: " << words(card).toStdString();
  QStringList warnings;
  for (const TintedLabel* label : card.findChildren<TintedLabel*>())
    if (label->tint() == TextColor::warning) warnings << label->text();
  ASSERT_EQ(warnings.size(), 1) << "one line reports missing files";
  EXPECT_LE(warnings[0].size(), 40);
  EXPECT_TRUE(card.run_button().text().contains("digits"));
  std::optional<experiment::Experiment> run;
  QObject::connect(&card, &ExampleCard::run_requested,
                   [&](const experiment::Experiment& asked, const QString& file) {
                     run = asked;
                     EXPECT_EQ(file, "") << "the document is no longer the file";
                   });
  card.run_button().click();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->data.kind, data::DataKind::digits);
  EXPECT_TRUE(experiment::validate(*run, directory_.path().toStdString()).empty());
}

TEST_F(WelcomePageTest, cards_fit_their_text_at_any_scale) {
  for (const double scale : {1.0, 2.0}) {
    Theme::instance().apply(Theme::Kind::light, scale);
    page_.resize(900, 600);
    page_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&page_));
    QTest::qWait(1);
    for (const ExampleCard* card : page_.cards()) {
      for (const QPushButton* button : card->findChildren<QPushButton*>())
        EXPECT_TRUE(
            QTest::qWaitFor([&] { return button->width() >= button->sizeHint().width(); }, 2000))
            << button->text().toStdString();
      for (const QLabel* label : card->findChildren<QLabel*>()) {
        EXPECT_TRUE(card->rect().contains(label->geometry())) << label->text().toStdString();
        EXPECT_GE(label->width(), label->minimumSizeHint().width()) << label->text().toStdString();
        EXPECT_GE(label->height(), label->heightForWidth(label->width()))
            << label->text().toStdString();
      }
    }
  }
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(WelcomePageTest, recent_files_are_listed_and_open) {
  QFile file(directory_.filePath("mine.json"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  recent_.add(file.fileName());
  QSignalSpy opened(&page_, &WelcomePage::open_requested);
  for (QPushButton* button : page_.findChildren<QPushButton*>())
    if (button->text().contains("mine.json")) button->click();
  ASSERT_EQ(opened.size(), 1);
  EXPECT_EQ(opened[0][0].toString(), file.fileName());
}

TEST_F(WelcomePageTest, shows_a_hint_without_examples) {
  const WelcomePage page("/nowhere", recent_);
  EXPECT_TRUE(page.cards().empty());
  EXPECT_TRUE(words(page).contains("not found"));
}

}  // namespace
}  // namespace trainyard::ui
